/// Whole seconds as `max-age` and `Age` state them (RFC 9111, section 1.2.2).
enum DeltaSeconds {
    /// What a larger number counts as: 68 years.
    static let maximum = 1 << 31

    /// The seconds that `text` states; nil if it is not a sequence of digits.
    static func parse(_ text: some Collection<UInt8>) -> Int? {
        guard !text.isEmpty, text.allSatisfy(\.isDigit) else { return nil }
        return text.reduce(0) { min($0 * 10 + Int($1 - 0x30), maximum) }
    }
}
