import Foundation

/// The certificates a ``TLSFront`` can show, and the authority that issued them.
public enum TestCertificates {
    /// What is right or wrong about a certificate.
    public enum Kind: String, Sendable, CaseIterable {
        /// Issued by the tests' authority for localhost, 127.0.0.1 and ::1.
        case trusted
        /// For the same names, vouching for itself.
        case selfSigned = "self-signed"
        /// Issued by the tests' authority for `elsewhere.example`.
        case wrongName = "wrong-name"
        /// Issued by the tests' authority, and past its last day.
        case expired
    }

    /// The PEM file with the tests' authority, for `--ca-cert`.
    public static var authorityPath: String { path("authority.pem") }

    /// The PEM file with a certificate.
    public static func certificatePath(_ kind: Kind) -> String { path("\(kind.rawValue).pem") }

    /// The PEM file with its private key.
    public static func keyPath(_ kind: Kind) -> String { path("\(kind.rawValue)-key.pem") }

    /// Beside this source file: tests run where they were built.
    private static func path(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Certificates/\(name)").path
    }
}
