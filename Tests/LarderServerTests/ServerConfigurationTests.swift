import LarderServer
import Testing

@Suite struct ServerConfigurationTests {
    @Test func itServesTheCacheThatItIsGiven() {
        #expect(ServerConfiguration(cache: "/a").cache == "/a")
    }
}
