import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// `/metrics`: metrics for Prometheus.
@Suite struct MetricsRouteTests {
    @Test func theServersMetricsAreAvailableWithADamagedIndex() async throws {
        let problems = Problems()
        try await withServer(["https://a.example/a": noise(2_000)]) { configuration, _ in
            configuration.onProblem = problems.add
        } _: { fixture in
            for name in try FileManager.default.contentsOfDirectory(atPath: fixture.cache)
            where name.hasPrefix("index.sqlite") {
                let path = "\(fixture.cache)/\(name)"
                try FileManager.default.removeItem(atPath: path)
                try Data(noise(40_000)).write(to: URL(fileURLWithPath: path))
            }
            var text = ""
            let end = ContinuousClock.now + .seconds(RawClient.patience)
            repeat {
                let response = try fixture.client().get("/metrics")
                #expect(response.status == 200)
                #expect(response.fields["cross-origin-resource-policy"] == "same-origin")
                text = String(decoding: response.body, as: UTF8.self)
                #expect(text.contains("larder_server_requests_total "))
                // The server opens the index again within two seconds.
            } while text.contains("# HELP larder_objects") && ContinuousClock.now < end
            #expect(!text.contains("# HELP larder_objects"))
            #expect(try fixture.metric("failures_total").map { $0 > 0 } == true)
            #expect(!problems.all.isEmpty)
        }
    }
}
