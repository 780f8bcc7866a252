#include "gateway/ops_server.hpp"

#include <smg/net/thread.hpp>

namespace smg::gateway {
namespace {

using http::Method;

void write(http::ClientExchange& client, int status, std::string_view content_type,
           std::string_view body, std::string_view allow = {}) {
  http::ClientResponse response{status, {}};
  if (!content_type.empty()) response.fields.push_back({"content-type", content_type});
  if (!allow.empty()) response.fields.push_back({"allow", allow});
  client.write_head(response, http::BodyLength::known(body.size()));
  client.write_body(body, true);
}

bool is_read(Method method) noexcept {
  return method == Method::Get || method == Method::Head;
}

/// Serves `/metrics` and nothing else.
class MetricsHandler final : public http::RequestHandler {
 public:
  MetricsHandler(const observability::Metrics& metrics, std::function<void()> before_scrape)
      : metrics_(metrics), before_scrape_(std::move(before_scrape)) {}

  net::Task<> handle(http::ClientExchange& client) override {
    if (client.head().path != "/metrics") {
      write(client, 404, {}, {});
    } else if (!is_read(client.head().method)) {
      write(client, 405, {}, {}, "GET,HEAD");
    } else {
      before_scrape_();
      write(client, 200, "text/plain; version=0.0.4; charset=utf-8", metrics_.exposition());
    }
    co_return;
  }

 private:
  const observability::Metrics& metrics_;
  const std::function<void()> before_scrape_;
};

/// Serves the probes and nothing else, with the same answers as the client port.
class ProbeHandler final : public http::RequestHandler {
 public:
  ProbeHandler(net::IoThread& thread, control::AdminEndpoints& admin)
      : thread_(thread), admin_(admin) {}

  net::Task<> handle(http::ClientExchange& client) override {
    const auto route = admin_.match(client.head().path);
    if (!route || !route->is_probe) {
      write(client, 404, {}, {});
    } else if (!is_read(client.head().method)) {
      write(client, 405, {}, {}, route->allow);
    } else {
      control::AdminRequest probe;
      probe.path = client.head().path;
      const auto answer = co_await admin_.handle(thread_, std::move(probe));
      write(client, answer.status, answer.content_type, answer.body);
    }
  }

 private:
  net::IoThread& thread_;
  control::AdminEndpoints& admin_;
};

}  // namespace

OpsServer::Port::Port(net::IoThread& thread, const config::Listen& settings,
                      const std::string& host, std::uint16_t number,
                      std::unique_ptr<http::RequestHandler> answers)
    : handler(std::move(answers)),
      shard(thread, settings, *handler),
      listener(thread, host, number, net::Descriptors::All) {
  listener.start([this](int descriptor) {
    shard.expect_one();
    shard.take(descriptor);
  });
}

OpsServer::OpsServer(const config::GatewayConfig& config, observability::Metrics& metrics,
                     net::IoThreads& threads, control::AdminEndpoints& admin,
                     std::function<void()> before_scrape)
    : thread_(0), probe_(thread_, threads, metrics) {
  metrics_port_ =
      std::make_unique<Port>(thread_, config.listen, config.observability.prometheus_host,
                             config.observability.prometheus_port,
                             std::make_unique<MetricsHandler>(metrics, std::move(before_scrape)));
  if (config.listen.health_check_port != 0) {
    probe_port_ = std::make_unique<Port>(thread_, config.listen, config.listen.host,
                                         config.listen.health_check_port,
                                         std::make_unique<ProbeHandler>(thread_, admin));
  }
}

OpsServer::~OpsServer() {
  stop();
}

void OpsServer::start() {
  probe_.start();
  runner_ = net::start_thread("smg-ops", [this] { thread_.run(); });
}

void OpsServer::stop() {
  if (!runner_.joinable()) return;
  thread_.post([this] {
    for (auto* port : {metrics_port_.get(), probe_port_.get()}) {
      if (port == nullptr) continue;
      port->listener.close();
      port->shard.abort_all();
    }
    metrics_port_->shard.when_ended([this] {
      if (!probe_port_) return thread_.stop();
      probe_port_->shard.when_ended([this] { thread_.stop(); });
    });
  });
  runner_.join();
}

}  // namespace smg::gateway
