/// Tells a whole image from everything else: a server's error page with status 200, a cut file.
package enum ImageInspector {
    /// Recognises an image by its content, never by a name or a Content-Type, and checks that it
    /// is structurally whole.
    ///
    /// The whole structure is walked and every checksum that a format has is compared; pixels are
    /// not decoded. Bytes after a format's own end mark are ignored if decoders ignore them.
    ///
    /// - Parameter bytes: the whole file.
    /// - Returns: the format and the size in pixels.
    /// - Throws: `ImageFault` if the bytes are not an image, or not a whole one.
    package static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageFault) -> ImageInfo {
        guard !bytes.isEmpty else {
            throw ImageFault(code: .empty, mediaType: nil, message: "0 bytes")
        }
        switch format(of: bytes) {
        case .png: return try PNGStructure.inspect(bytes)
        case .jpeg: return try JPEGStructure.inspect(bytes)
        case .gif: return try GIFStructure.inspect(bytes)
        case .webp: return try WebPStructure.inspect(bytes)
        case .avif: return try HEIFStructure.inspect(bytes, as: .avif)
        case .heic: return try HEIFStructure.inspect(bytes, as: .heic)
        case .ico: return try ICOStructure.inspect(bytes)
        case .bmp: return try BMPStructure.inspect(bytes)
        case .svg: return try SVGStructure.inspect(bytes)
        case nil: throw .notAnImage(ContentGuess.describe(bytes))
        }
    }

    /// The format that the first bytes claim.
    static func format(of bytes: UnsafeRawBufferPointer) -> MediaType? {
        if bytes.starts(with: PNGStructure.signature.prefix(4)) { return .png }
        if bytes.starts(with: JPEGStructure.signature) { return .jpeg }
        if bytes.starts(with: GIFStructure.signature) { return .gif }
        if bytes.starts(with: "RIFF".utf8), bytes.dropFirst(8).starts(with: "WEBP".utf8) {
            return .webp
        }
        if bytes.starts(with: ICOStructure.signature) { return .ico }
        if BMPStructure.recognises(bytes) { return .bmp }
        if SVGStructure.recognises(bytes) { return .svg }
        return HEIFStructure.recognise(bytes)
    }
}
