import Foundation

@testable import LarderCore

extension Digest {
    /// Its bytes as an argument of a statement of GRDB's own.
    var blob: Data { Data(bytes) }
}
