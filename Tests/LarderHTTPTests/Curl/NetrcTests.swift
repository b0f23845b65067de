import Foundation
import LarderHTTP
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct NetrcTests {
    @Test func netrcCredentialsAreSentOnlyToTheirHosts() async throws {
        let origin = try Origin()
        try await withTemporaryDirectory { directory in
            let netrc = directory.path("netrc")
            try Data("machine localhost login me password secret\n".utf8)
                .write(to: URL(fileURLWithPath: netrc))
            try await withClient {
                $0.netrcFile = netrc
                $0.maximumConnections = 1
            } _: { client async throws in
                let named = origin.url("/", host: "localhost")
                for url in [
                    named, origin.url("/"), named.replacing("://", with: "://you:own@"), named,
                    origin.url("/"),
                ] {
                    _ = try await client.fetch(url)
                }
                // me:secret and you:own in Base64.
                let (netrc, own) = ("Basic bWU6c2VjcmV0", "Basic eW91Om93bg==")
                #expect(
                    origin.requests.map { $0.header("Authorization") }
                        == [netrc, nil, own, netrc, nil])
            }
        }
    }

    @Test func aMissingNetrcFileIsAnError() throws {
        var configuration = TransferConfiguration()
        configuration.netrcFile = "/does/not/exist"
        #expect(throws: TransferError.self) { try TransferLoop(configuration: configuration) }
    }
}
