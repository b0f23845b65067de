import Foundation

/// The certificates for a ``TLSFront``, and the authority that issued them.
public enum TestCertificates {
    /// A kind of certificate, valid or not.
    public enum Kind: String, Sendable, CaseIterable {
        /// Issued by the tests' authority for localhost, 127.0.0.1 and ::1.
        case trusted
        /// Self-signed, for the same names.
        case selfSigned = "self-signed"
        /// Issued by the tests' authority for `elsewhere.example`.
        case wrongName = "wrong-name"
        /// Issued by the tests' authority for the same names, but expired.
        case expired
    }

    /// The path of the PEM file with the tests' authority, for `--ca-cert`.
    public static var authorityPath: String { path("authority.pem") }

    /// Returns the path of the PEM file with a certificate.
    public static func certificatePath(_ kind: Kind) -> String { path("\(kind.rawValue).pem") }

    /// Returns the path of the PEM file with the private key of a certificate.
    public static func keyPath(_ kind: Kind) -> String { path("\(kind.rawValue)-key.pem") }

    /// Returns the path of a file next to this source file. Tests run on the machine that built
    /// them.
    private static func path(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Certificates/\(name)").path
    }
}
