#include "relay/kv_handover.hpp"

#include <gtest/gtest.h>

namespace smg::relay::pd {
namespace {

routing::WorkerFacts mooncake() {
  routing::WorkerFacts facts;
  facts.pd.host = "10.0.0.1";
  facts.pd.kv_connector = "MooncakeConnector";
  facts.pd.kv_engine_id = "eng";
  facts.pd.bootstrap_port = 9443;
  return facts;
}

TEST(KvHandover, NixlTagsPrefillOnly) {
  routing::WorkerFacts facts;
  facts.pd.kv_connector = "NixlConnector";
  const auto plan = plan_handover(facts);
  EXPECT_EQ(plan.prefill, R"({"do_remote_decode":true,"do_remote_prefill":false})");
  EXPECT_EQ(plan.decode, "");
}

TEST(KvHandover, OthersTagNothing) {
  const auto plan = plan_handover({});
  EXPECT_EQ(plan.mode, routing::KvTransfer::Passthrough);
  EXPECT_EQ(plan.prefill + plan.decode, "");
}

TEST(KvHandover, MooncakeNamesTransferAndEngine) {
  const auto plan = plan_handover(mooncake());
  const std::string start = R"({"do_remote_decode":true,"do_remote_prefill":false,"transfer_id":")";
  ASSERT_TRUE(plan.prefill.starts_with(start + "xfer-")) << plan.prefill;
  const auto id = plan.prefill.substr(start.size(), 41);
  EXPECT_EQ(plan.prefill, start + id + "\"}");
  EXPECT_EQ(plan.decode, R"({"do_remote_decode":false,"do_remote_prefill":true,"transfer_id":")" +
                             id +
                             R"(","remote_engine_id":"eng","remote_bootstrap_addr":)"
                             R"("http://10.0.0.1:9443"})");
  EXPECT_NE(plan_handover(mooncake()).prefill, plan.prefill) << "fresh for every request";
}

TEST(KvHandover, MooncakeNeedsToKnowWhereTheCacheWillBe) {
  const auto tagged = [](auto change) {
    auto facts = mooncake();
    change(facts);
    return plan_handover(facts).decode;
  };
  EXPECT_EQ(tagged([](auto& f) { f.pd.kv_engine_id = ""; }), "");
  EXPECT_EQ(tagged([](auto& f) { f.pd.bootstrap_port.reset(); }), "");
  EXPECT_EQ(tagged([](auto& f) { f.labels["dp_size"] = "2"; }), "") << "which rank?";
  EXPECT_EQ(tagged([](auto& f) { f.labels["dp_size"] = "many"; }), "");
  EXPECT_NE(tagged([](auto& f) { f.labels["dp_size"] = "1"; }), "");
  const auto ranked = tagged([](auto& f) { f.rank = {"http://10.0.0.1", 1, 2}; });
  EXPECT_NE(ranked.find(R"("remote_engine_id":"eng_dp1")"), std::string::npos) << ranked;
}

}  // namespace
}  // namespace smg::relay::pd
