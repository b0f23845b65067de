import LarderCore

extension PathMatch {
    /// The icon's width in pixels, or 0 if unknown.
    ///
    /// Sources, in order: `sizes` as in a web app manifest (`any` is the largest), `width`,
    /// `attributes.height` as in Apple's feeds, and digits in a name such as `artworkUrl512`.
    var pixels: Int {
        if case .string(let sizes, _) = container["sizes"] ?? container["@sizes"] {
            return sizes.utf8.split(whereSeparator: \.isSpace).reduce(0) { largest, size in
                size.isWord("any") ? .max : max(largest, Self.firstNumber(in: size))
            }
        }
        if let width = Self.number(container["width"] ?? container["@width"]) { return width }
        if case .dictionary(let attributes) = container["attributes"],
            let height = Self.number(attributes["height"])
        {
            return height
        }
        return Self.firstNumber(in: key.utf8)
    }

    /// The folder for icons of this size, such as `128x128@2` in AppStream's cache.
    var sizeFolder: String? {
        func number(_ name: String) -> Int? {
            Self.number(container[name] ?? container["@\(name)"])
        }
        guard let width = number("width"), let height = number("height") else { return nil }
        let scale = number("scale") ?? 1
        return "\(width)x\(height)" + (scale > 1 ? "@\(scale)" : "")
    }

    private static func number(_ value: ManifestValue?) -> Int? {
        switch value {
        case .integer(let number) where number > 0: number
        case .double(let number): Int(exactly: number.rounded(.down))
        case .string(let text, _): Int(text)
        default: nil
        }
    }

    private static func firstNumber(in text: some Collection<UInt8>) -> Int {
        let digits = text.drop { !$0.isDigit }.prefix(while: \.isDigit)
        return Int(String(decoding: digits.prefix(9), as: UTF8.self)) ?? 0
    }
}
