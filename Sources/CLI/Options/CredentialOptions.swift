import ArgumentParser
import Foundation
import LarderHTTP
import LarderPrefetch

/// Options whose values may be secrets. Messages never quote them.
struct CredentialOptions: ParsableArguments {
    @Option(
        help: .common(
            """
            Send the header 'Name: value' to the hosts in manifests, or 'host: Name: value' only \
            to that host. May be repeated.
            """, "field"))
    var header: [String] = []

    @Flag(help: "Read user names and passwords from $NETRC, else ~/.netrc.") var netrc = false

    @Option(
        help: .common("Read user names and passwords from this file.", "file"),
        completion: .file())
    var netrcFile: String?

    @Option(
        help: .common(
            "A PEM file with the client certificate for the servers in manifests.", "file"),
        completion: .file())
    var clientCert: String?

    @Option(
        help: .common(
            "The private key of --client-cert, without a passphrase. (default: in the same file)",
            "file"), completion: .file())
    var clientKey: String?

    func validate() throws {
        _ = try rules()
        try refuse(if: clientKey != nil && clientCert == nil, "--client-key needs --client-cert.")
    }

    func apply(to configuration: inout PrefetchConfiguration) throws {
        configuration.headers = try rules()
        configuration.transfer.netrcFile = netrcPath
        configuration.transfer.clientCertificate = clientCert.map {
            ClientCertificate(certificate: $0, key: clientKey)
        }
        try MissingInputError.check(netrcPath, for: netrcFile == nil ? "--netrc" : "--netrc-file")
        try MissingInputError.check(clientCert, for: "--client-cert")
        try MissingInputError.check(clientKey, for: "--client-key")
    }

    private func rules() throws -> [HeaderRule] {
        try header.enumerated().map { number, text in
            try validated({ "--header, number \(number + 1): \($0)." }) { try HeaderRule(text) }
        }
    }

    private var netrcPath: String? {
        if let netrcFile { return netrcFile }
        guard netrc else { return nil }
        if let file = Terminal.environment("NETRC"), !file.isEmpty { return file }
        return (Terminal.environment("HOME") ?? NSHomeDirectory()) + "/.netrc"
    }
}
