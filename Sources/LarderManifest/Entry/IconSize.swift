import LarderCore

/// The size of an icon, from the members next to its URL.
enum IconSize {
    /// Returns the width in pixels, or 0 if it is unknown.
    ///
    /// Sources, in order of precedence: `sizes` as in a web app manifest (`any` is the largest),
    /// `width`, `attributes.height` as in Apple's feeds, and digits in the member's name, as in
    /// `artworkUrl512`.
    static func pixels(of match: PathMatch) -> Int {
        if case .string(let sizes) = match.container["sizes"] { return largest(of: sizes) }
        if let width = number(match.container["width"]) { return width }
        if case .dictionary(let attributes) = match.container["attributes"],
            let height = number(attributes["height"])
        {
            return height
        }
        return firstNumber(in: match.key.utf8)
    }

    private static func largest(of sizes: String) -> Int {
        sizes.utf8.split(whereSeparator: \.isSpace).reduce(0) { largest, size in
            size.isWord("any") ? .max : max(largest, firstNumber(in: size))
        }
    }

    private static func number(_ value: ManifestValue?) -> Int? {
        switch value {
        case .integer(let number) where number > 0: number
        case .double(let number): Int(exactly: number.rounded(.down))
        case .string(let text): Int(text)
        default: nil
        }
    }

    private static func firstNumber(in text: some Collection<UInt8>) -> Int {
        let digits = text.drop { !$0.isDigit }.prefix(while: \.isDigit)
        return Int(String(decoding: digits.prefix(9), as: UTF8.self)) ?? 0
    }
}
