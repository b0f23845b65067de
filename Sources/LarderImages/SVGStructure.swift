import LarderCore

/// Uncompressed SVG: a well-formed XML document whose root element is `svg`.
enum SVGStructure {
    /// Whether the bytes look like XML. Skips byte order marks and the zero bytes of UTF-16.
    static func recognises(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.first {
            !$0.isMarkupBlank && ![0x00, 0xEF, 0xBB, 0xBF, 0xFE, 0xFF].contains($0)
        } == UInt8(ascii: "<")
    }

    /// Checks the whole document. The root needs no namespace, as in native decoders. The size is
    /// `width` and `height` if both are in px or have no unit, or else the size of the `viewBox`.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        guard let isBigEndian = isBigEndianUTF16(bytes)
        else { return try inspect(bytes, of: bytes) }
        guard bytes.count <= utf16Limit
        else { throw .damaged(.svg, "is in UTF-16 and larger than \(utf16Limit) bytes") }
        var text = String.decoding(utf16: bytes, isBigEndian: isBigEndian).text
        return try text.withUTF8 { text in
            Result { () throws(ImageError) in try inspect(UnsafeRawBufferPointer(text), of: bytes) }
        }.get()
    }

    private static func inspect(
        _ text: UnsafeRawBufferPointer, of file: UnsafeRawBufferPointer
    ) throws(ImageError) -> ImageInfo {
        var document = XMLWellFormedness(text)
        do {
            try document.walk()
            try document.checkCharacters(isUTF8: !declaresOtherThanUTF8(text))
        } catch {
            guard document.root.map(isSVG) ?? mentionsSVG(text)
            else { throw .notAnImage(ContentGuess.describe(file)) }
            throw error
        }
        guard let root = document.root, isSVG(root) else {
            let guess = ContentGuess.describe(file)
            let name = String(decoding: document.root?.name.prefix(40) ?? [], as: UTF8.self)
            throw .notAnImage(guess == ContentGuess.page ? guess : "an XML document (\(name))")
        }
        let size = size(of: root)
        return ImageInfo(mediaType: .svg, width: size?.width, height: size?.height)
    }

    /// The maximum size of a UTF-16 document in bytes, which limits the size of the UTF-8 copy.
    private static let utf16Limit = 2 << 20

    private static func isBigEndianUTF16(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        if bytes.count < 2 { return nil }
        if bytes[0] == 0 || bytes.starts(with: [0xFE, 0xFF]) { return true }
        return bytes[1] == 0 || bytes.starts(with: [0xFF, 0xFE]) ? false : nil
    }

    /// Whether another encoding is declared. If the declaration is readable, all markup is ASCII.
    private static func declaresOtherThanUTF8(_ text: UnsafeRawBufferPointer) -> Bool {
        let start = text.prefix(256).lowercasedASCII
        let declaration = start[
            ..<(start.firstRange(of: Array("?>".utf8))?.lowerBound ?? start.count)]
        guard let name = declaration.firstRange(of: Array("encoding".utf8))?.upperBound
        else { return false }
        let letters = declaration[name...].drop { $0.isSpace || "=\"'".utf8.contains($0) }
        return !["utf-8", "utf8", "utf-16"].contains { letters.starts(with: $0.utf8) }
    }

    /// Whether the root element is `svg` in the SVG namespace. Accepts any entity as the namespace,
    /// because some drawing programs declare the namespace in an entity.
    private static func isSVG(_ root: XMLWellFormedness.Element) -> Bool {
        let parts = root.name.split(separator: UInt8(ascii: ":"))
        guard parts.count <= 2, parts.last?.elementsEqual("svg".utf8) ?? false else { return false }
        let declaration = Array("xmlns".utf8) + (parts.count == 2 ? ":".utf8 + parts[0] : [])
        guard let namespace = root.attributes[declaration] else { return parts.count == 1 }
        return namespace.elementsEqual("http://www.w3.org/2000/svg".utf8)
            || namespace.first == UInt8(ascii: "&") && namespace.last == UInt8(ascii: ";")
    }

    /// Whether a document that ends before its root element is probably a truncated SVG.
    private static func mentionsSVG(_ text: UnsafeRawBufferPointer) -> Bool {
        guard ContentGuess.describe(text) != ContentGuess.page else { return false }
        let start = Array(text.prefix(4096))
        return start.contains(Array("<svg".utf8)) || start.contains(Array("<!DOCTYPE svg".utf8))
    }

    private static func size(of root: XMLWellFormedness.Element) -> (width: Int, height: Int)? {
        func attribute(_ name: String) -> [UInt8] { root.attributes[Array(name.utf8)] ?? [] }
        if let width = pixels(attribute("width")), let height = pixels(attribute("height")) {
            return (width, height)
        }
        let viewBox = attribute("viewBox").split { $0.isSpace || $0 == UInt8(ascii: ",") }
        guard viewBox.count == 4, let width = pixels(viewBox[2]), let height = pixels(viewBox[3])
        else { return nil }
        return (width, height)
    }

    private static func pixels(_ text: some Collection<UInt8>) -> Int? {
        var digits = text.filter { !$0.isSpace }
        if digits.suffix(2).elementsEqual("px".utf8) { digits.removeLast(2) }
        // `Double` also accepts "0x10", "inf" and "nan".
        guard digits.allSatisfy("0123456789.+-eE".utf8.contains),
            let number = Double(String(decoding: digits, as: UTF8.self)), number > 0
        else { return nil }
        return Int(exactly: max(1, number.rounded()))
    }
}
