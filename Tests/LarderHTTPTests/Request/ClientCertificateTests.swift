import Foundation
import LarderCore
import LarderHTTP
import LarderTestSupport
import LarderTestTLS
import Testing

@Suite(.timeLimit(.minutes(30))) struct ClientCertificateTests {
    let origin: Origin
    let front: TLSFront

    init() throws {
        origin = try Origin(replies: ["/x": .ok("here")])
        front = try TLSFront(originPort: origin.port, requiresClientCertificate: true)
    }

    static let certificate = ClientCertificate(
        certificate: TestCertificates.certificatePath(.selfSigned),
        key: TestCertificates.keyPath(.selfSigned))

    @Test func aClientCertificateIsSentOnlyIfAllowed() async throws {
        try await withClient {
            $0.certificateAuthorities = TestCertificates.authorityPath
            $0.clientCertificate = Self.certificate
            $0.maximumConnections = 1
        } _: { client async throws in
            #expect(try await client.fetch(front.url("/x")).text == "here")
            // The open connection sent the certificate, so this request must not use it.
            let without = Recorder()
            let request = TransferRequest(
                url: try HTTPURL(front.url("/x")), usesStoredCredentials: false)
            client.loop.start(request, receiver: without)
            #expect(await without.error() != nil)
            #expect(try await client.fetch(front.url("/x")).text == "here")
            #expect(origin.count() == 2)
        }
    }

    @Test func aTransferWithoutARequiredClientCertificateFails() async throws {
        try await withClient {
            $0.certificateAuthorities = TestCertificates.authorityPath
        } _: { client async throws in
            let recorder = try await client.fetch(front.url("/x"))
            #expect(await recorder.error() != nil)
            #expect(origin.count() == 0)
        }
    }

    @Test func aClientCertificateFileCanContainItsKey() async throws {
        try await withTemporaryDirectory { directory in
            let both = directory.path("both.pem")
            var bytes = try Data(contentsOf: URL(fileURLWithPath: Self.certificate.certificate))
            bytes += try Data(contentsOf: URL(fileURLWithPath: Self.certificate.key ?? ""))
            try bytes.write(to: URL(fileURLWithPath: both))
            try await withClient {
                $0.certificateAuthorities = TestCertificates.authorityPath
                $0.clientCertificate = ClientCertificate(certificate: both)
            } _: { client async throws in
                let recorder = try await client.fetch(front.url("/x"))
                #expect(recorder.text == "here")
            }
        }
    }

    @Test(
        arguments: [
            ("/does/not/exist.pem", nil),
            (TestCertificates.certificatePath(.trusted), "/no/key.pem"),
        ] as [(String, String?)])
    func missingClientCertificateFilesAreErrors(_ certificate: String, _ key: String?) throws {
        var configuration = TransferConfiguration()
        configuration.clientCertificate = ClientCertificate(certificate: certificate, key: key)
        let error = try #require(throws: TransferError.self) {
            try TransferLoop(configuration: configuration)
        }
        #expect(error.message.contains("\(key ?? certificate): No such file"), "\(error)")
    }
}
