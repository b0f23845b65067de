import Crypto
import Foundation

/// Seals credentials for the plan's file, which a killed run leaves behind: the key is random, and
/// in this process's memory alone.
package struct CredentialSeal: Sendable {
    private let key = SymmetricKey(size: .bits256)

    package init() {}

    package func seal(_ credentials: Credentials) throws -> Data {
        let text = [credentials.user, credentials.password]
        return try ChaChaPoly.seal(JSONEncoder().encode(text), using: key).combined
    }

    package func open(_ sealed: Data) throws -> Credentials {
        let text = try ChaChaPoly.open(ChaChaPoly.SealedBox(combined: sealed), using: key)
        let parts = try JSONDecoder().decode([String].self, from: text)
        return Credentials(user: parts[0], password: parts[1])
    }
}
