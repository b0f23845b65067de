import ArgumentParser
import Foundation
import LarderCache

/// Which part of a cache is verified: a random part (`5%`), or one of several that cover the whole
/// in turn (`3/10`).
enum Sample: ExpressibleByArgument, Equatable {
    case percent(Double)
    case part(Int, of: Int)

    init?(argument: String) {
        func areDigits(_ text: Substring) -> Bool {
            !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        if argument.hasSuffix("%") {
            let digits = argument.dropLast()
            let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count <= 2, parts.allSatisfy(areDigits), let percent = Double(digits),
                percent > 0, percent <= 100
            else { return nil }
            self = .percent(percent)
        } else {
            let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy(areDigits), let number = Int(parts[0]),
                let count = Int(parts[1]), (1...1_000_000).contains(count),
                (1...count).contains(number)
            else { return nil }
            self = .part(number, of: count)
        }
    }

    /// - Parameter seed: decides which the random part is. Default: nil, another every time.
    func selection(seed: UInt64?) -> VerifySelection {
        switch self {
        case .percent(let percent):
            .share(percent / 100, seed: seed ?? UInt64.random(in: .min ... .max))
        case .part(let number, let count): .part(number, of: count)
        }
    }
}

extension Sample {
    /// - Throws: `ValidationError`, which says what is valid.
    static func parse(_ argument: String) throws -> Sample {
        if let value = Sample(argument: argument) { return value }
        throw ValidationError("it is a percentage above 0, such as 5%, or a part, such as 3/10")
    }
}
