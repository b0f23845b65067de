import Foundation
import Testing

@testable import LarderCore

@Suite struct CredentialSealTests {
    let credentials = Credentials(user: "me", password: "s€cret:\u{22}")

    @Test func opensWhatItSealed() throws {
        let seal = CredentialSeal()
        let sealed = try seal.seal(credentials)
        #expect(try seal.open(sealed) == credentials)
        for part in ["me", "cret"] { #expect(sealed.range(of: Data(part.utf8)) == nil) }
        // The same credentials do not look the same.
        #expect(try seal.seal(credentials) != sealed)
    }

    @Test func nobodyElseOpensIt() throws {
        let sealed = try CredentialSeal().seal(credentials)
        #expect(throws: (any Error).self) { try CredentialSeal().open(sealed) }
    }
}
