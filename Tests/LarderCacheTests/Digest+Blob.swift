import Foundation

@testable import LarderCore

extension Digest {
    /// The digest as an argument of a GRDB statement.
    var blob: Data { Data(bytes) }
}
