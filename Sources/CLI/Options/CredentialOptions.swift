import ArgumentParser
import Foundation
import LarderHTTP
import LarderPrefetch

/// Messages never quote a value of these options, which may be a secret.
struct CredentialOptions: ParsableArguments {
    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            """
            Send 'Name: value' to the hosts that manifests name, or 'host: Name: value' to that \
            host only. May be repeated.
            """, valueName: "field"))
    var headers: [String] = []

    @Flag(help: "Read user names and passwords from $NETRC, else ~/.netrc.") var netrc = false

    @Option(
        help: ArgumentHelp("Read user names and passwords from this file.", valueName: "file"),
        completion: .file())
    var netrcFile: String?

    @Option(
        help: ArgumentHelp(
            "Present the certificate in this PEM file to the servers that manifests name.",
            valueName: "file"), completion: .file())
    var clientCert: String?

    @Option(
        help: ArgumentHelp(
            "The private key of --client-cert, without a passphrase. (default: in the same file)",
            valueName: "file"), completion: .file())
    var clientKey: String?

    func validate() throws {
        _ = try rules()
        if clientKey != nil, clientCert == nil {
            throw ValidationError("--client-key needs --client-cert.")
        }
    }

    func apply(to configuration: inout PrefetchConfiguration) throws {
        configuration.headers = try rules()
        configuration.transfer.netrcFile = netrcPath
        configuration.transfer.clientCertificate = clientCert.map {
            ClientCertificate(certificate: $0, key: clientKey)
        }
        try MissingInput.check(netrcPath, for: netrcFile == nil ? "--netrc" : "--netrc-file")
        try MissingInput.check(clientCert, for: "--client-cert")
        try MissingInput.check(clientKey, for: "--client-key")
    }

    private func rules() throws -> [HeaderRule] {
        try headers.enumerated().map { number, text in
            do throws(HeaderRule.ParseError) {
                return try HeaderRule(text)
            } catch {
                throw ValidationError("--header, number \(number + 1): \(error).")
            }
        }
    }

    private var netrcPath: String? {
        if let netrcFile { return netrcFile }
        guard netrc else { return nil }
        let environment = ProcessInfo.processInfo.environment
        if let named = environment["NETRC"], !named.isEmpty { return named }
        return (environment["HOME"] ?? NSHomeDirectory()) + "/.netrc"
    }
}
