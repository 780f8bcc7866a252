target_link_libraries(smg_cli PRIVATE CLI11::CLI11)
target_compile_definitions(smg_cli PRIVATE SMG_VERSION="${PROJECT_VERSION}")
