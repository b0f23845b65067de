import ArgumentParser

/// A decimal number and its unit, from which all options read sizes, times and rates.
struct Quantity {
    /// The number times 10 to the power of `decimals`.
    private let digits: Int64
    private let decimals: Int
    /// The letters behind the number, as typed.
    let unit: Substring

    /// Takes a quantity off the beginning of a text; nil if no number in ASCII digits is there, or
    /// one of more than 18.
    init?(takenFrom text: inout Substring) {
        func take(_ isWanted: (Character) -> Bool) -> Substring {
            let taken = text.prefix(while: isWanted)
            text = text[taken.endIndex...]
            return taken
        }
        func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
        let whole = take(isDigit)
        var fraction: Substring = ""
        if text.first == "." {
            text.removeFirst()
            fraction = take(isDigit)
            guard !fraction.isEmpty else { return nil }
        }
        guard let digits = Int64(whole + fraction) else { return nil }
        self.digits = digits
        decimals = fraction.count
        unit = take { !isDigit($0) && $0 != "." }
    }

    /// The quantity if a unit is that many of what is counted, rounded down; nil if that is too
    /// large, or nothing is left of it.
    func counted(in size: Int64) -> Int64? {
        let divisor = (0..<decimals).reduce(Int128(1)) { power, _ in power * 10 }
        let product = Int128(digits) * Int128(size)
        let count = product / divisor
        guard count > 0 || digits == 0 else { return nil }
        return Int64(exactly: count)
    }

    /// The number itself.
    var number: Double { Double("\(digits)e-\(decimals)") ?? 0 }

    /// Whether it has a fraction, if only of zeros.
    var hasFraction: Bool { decimals > 0 }
}

extension Quantity {
    /// A bare number, with or without `unit` at the end.
    ///
    /// - Throws: `ValidationError`, which says what is valid.
    static func number(_ argument: String, unit: String) throws -> Double {
        var rest = argument[...]
        if let quantity = Quantity(takenFrom: &rest), rest.isEmpty,
            quantity.unit.isEmpty || quantity.unit == unit
        {
            return quantity.number
        }
        throw ValidationError("it is a number, such as 5, 0.5 or 5\(unit)")
    }
}
