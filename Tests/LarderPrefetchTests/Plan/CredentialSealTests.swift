import Foundation
import Testing

@testable import LarderCore

@Suite struct CredentialSealTests {
    let credentials = Credentials(user: "me", password: "s€cret:\u{22}")

    @Test func aSealOpensCredentialsThatItSealed() throws {
        let seal = CredentialSeal()
        let sealed = try seal.seal(credentials)
        #expect(try seal.open(sealed) == credentials)
        for part in ["me", "cret"] { #expect(sealed.range(of: Data(part.utf8)) == nil) }
        // Sealing is randomized, so equal credentials cannot be recognised.
        #expect(try seal.seal(credentials) != sealed)
    }

    @Test func anotherSealCannotOpenSealedCredentials() throws {
        let sealed = try CredentialSeal().seal(credentials)
        #expect(throws: (any Error).self) { try CredentialSeal().open(sealed) }
    }
}
