#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

// This program does not use Foundation, because its own memory is the minimum that it can measure.

extension Double {
    /// Formats the number with `digits` decimals.
    func fixed(_ digits: Int) -> String {
        let scale = pow(10, Double(digits))
        let whole = Int((abs(self) * scale).rounded())
        var text = String(whole)
        text = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        if digits > 0 { text.insert(".", at: text.index(text.endIndex, offsetBy: -digits)) }
        return (self < 0 && whole != 0 ? "-" : "") + text
    }
}

extension Int {
    /// The number with commas between thousands.
    var grouped: String {
        var text = String(self)
        var place = text.count - 3
        while place > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: place))
            place -= 3
        }
        return text
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
