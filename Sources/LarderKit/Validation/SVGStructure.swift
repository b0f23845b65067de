/// SVG: a well-formed XML document whose root is `svg`.
enum SVGStructure {
    /// Whether the bytes begin like XML in UTF-8 or UTF-16, so that it is worth a look.
    static func recognises(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // UTF-16's byte-order marks and zero bytes are stepped over like white space.
        bytes.first { byte in
            switch byte {
            case 0x09, 0x0A, 0x0D, 0x20, 0x00, 0xEF, 0xBB, 0xBF, 0xFE, 0xFF: false
            default: true
            }
        } == UInt8(ascii: "<")
    }

    /// Goes through the document to its end.
    ///
    /// A root without a namespace is accepted, as native decoders do. The size is `width` and
    /// `height` where both are in px or without a unit, else that of the `viewBox`.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageFault) -> ImageInfo {
        guard let units = utf16(bytes) else { return try inspect(bytes, of: bytes) }
        let text = Array(String(decoding: units, as: UTF16.self).utf8)
        return try text.withUnsafeBytes { text in
            Result { () throws(ImageFault) in try inspect(text, of: bytes) }
        }.get()
    }

    private static func inspect(
        _ text: UnsafeRawBufferPointer, of file: UnsafeRawBufferPointer
    ) throws(ImageFault) -> ImageInfo {
        var document = XMLShape(text)
        do {
            try document.walk()
            try document.checkCharacters(isUTF8: !declaresOtherThanUTF8(text))
        } catch {
            guard document.root.map(isSVG) ?? mentionsSVG(text) else {
                throw .notAnImage(ContentGuess.describe(file))
            }
            throw error
        }
        guard let root = document.root, isSVG(root) else {
            let guess = ContentGuess.describe(file)
            let name = document.root?.name.prefix(40) ?? ""
            throw .notAnImage(
                guess == ContentGuess.page ? guess : "an XML document (\(name))")
        }
        let size = size(of: root)
        return ImageInfo(mediaType: .svg, width: size?.width, height: size?.height)
    }

    /// The 16-bit units of a document in UTF-16, without the mark of byte order.
    private static func utf16(_ bytes: UnsafeRawBufferPointer) -> [UInt16]? {
        let isMarked = bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE])
        guard bytes.count >= 2, isMarked || bytes[0] == 0 || bytes[1] == 0 else { return nil }
        let (high, low) = bytes[0] == 0xFE || bytes[0] == 0 ? (0, 1) : (1, 0)
        return stride(from: isMarked ? 2 : 0, to: bytes.count - 1, by: 2).map { start in
            UInt16(bytes[start + high]) << 8 | UInt16(bytes[start + low])
        }
    }

    /// Markup is ASCII in the other encodings, too, so that the shape of the document shows.
    private static func declaresOtherThanUTF8(_ text: UnsafeRawBufferPointer) -> Bool {
        let start = String(decoding: text.prefix(256), as: UTF8.self)
        guard let declaration = start.split(separator: "?>").first,
            let name = declaration.split(separator: "encoding").dropFirst().first
        else { return false }
        let letters = name.lowercased().drop { " =\"'\t\r\n".contains($0) }
        return !letters.hasPrefix("utf-8") && !letters.hasPrefix("utf8")
            && !letters.hasPrefix("utf-16")
    }

    /// Drawing programs put the namespace into an entity, which is not expanded here.
    private static func isSVG(_ root: XMLShape.Element) -> Bool {
        let parts = root.name.split(separator: ":")
        guard parts.last == "svg", parts.count <= 2 else { return false }
        let declaration = parts.count == 2 ? "xmlns:\(parts[0])" : "xmlns"
        guard let namespace = root.attributes[declaration] else { return parts.count == 1 }
        return namespace == "http://www.w3.org/2000/svg"
            || namespace.hasPrefix("&") && namespace.hasSuffix(";")
    }

    /// Whether a document that broke off before its root would have been an SVG.
    private static func mentionsSVG(_ text: UnsafeRawBufferPointer) -> Bool {
        guard ContentGuess.describe(text) != ContentGuess.page else { return false }
        let start = String(decoding: text.prefix(4096), as: UTF8.self)
        return start.contains("<svg") || start.contains("<!DOCTYPE svg")
    }

    private static func size(of root: XMLShape.Element) -> (width: Int, height: Int)? {
        if let width = root.attributes["width"].flatMap(pixels),
            let height = root.attributes["height"].flatMap(pixels)
        {
            return (width, height)
        }
        let viewBox = (root.attributes["viewBox"] ?? "").split { " ,\t\r\n".contains($0) }
        guard viewBox.count == 4, let width = pixels(viewBox[2]), let height = pixels(viewBox[3])
        else { return nil }
        return (width, height)
    }

    /// A length in px or without a unit, rounded; nil for anything else.
    private static func pixels(_ text: some StringProtocol) -> Int? {
        var digits = text.split { $0.isWhitespace }.joined()
        if digits.hasSuffix("px") { digits.removeLast(2) }
        // `Double` would also take "0x10", "inf" and "nan".
        guard digits.allSatisfy({ "0123456789.+-eE".contains($0) }), let number = Double(digits),
            number > 0
        else { return nil }
        return Int(exactly: max(1, number.rounded()))
    }
}
