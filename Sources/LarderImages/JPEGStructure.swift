/// JPEG (ITU-T T.81): marker segments and entropy-coded scans from SOI to EOI.
enum JPEGStructure {
    /// Walks the segments and scans. Like all decoders, ignores bytes after EOI, where cameras
    /// store further images and videos. Like libjpeg, ignores bytes between segments, which occur
    /// if a comment or profile declares too small a length. The size ignores the Exif orientation.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .jpeg)
        try reader.skip(2)
        var frame: (width: Int, height: Int)?
        var scans = 0
        while true {
            let marker = try nextMarker(&reader)
            switch marker {
            case 0xD9:
                guard let frame, scans > 0 else { throw reader.damaged("has no image") }
                try reader.checkSize(frame.width, frame.height)
                return ImageInfo(mediaType: .jpeg, width: frame.width, height: frame.height)
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                guard frame == nil else { throw reader.damaged("has two frame headers") }
                var segment = try nextSegment(&reader, "the frame header")
                let (precision, height) = (try segment.big(1), try segment.big(2))
                let (width, components) = (try segment.big(2), try segment.big(1))
                guard 2...16 ~= precision, components > 0, segment.remaining == 3 * components
                else { throw segment.damaged("has an invalid frame header") }
                frame = (width, height)
            case 0xDA:
                guard frame != nil else { throw reader.damaged("has a scan before its frame") }
                var segment = try nextSegment(&reader, "a scan header")
                let components = try segment.big(1)
                guard (1...4).contains(components), segment.remaining == 2 * components + 3
                else { throw reader.damaged("has an invalid scan header") }
                try skipScan(&reader)
                scans += 1
            case 0xDC:
                // DNL: the number of lines, if the frame header does not specify it.
                var segment = try nextSegment(&reader, "the number of lines")
                let lines = try segment.big(2)
                if frame?.height == 0 { frame?.height = lines }
            case 0xC4, 0xC8, 0xCC, 0xDB, 0xDD...0xDF, 0xF0...0xFD:
                _ = try nextSegment(&reader, "a segment")
            case 0xE0...0xEF, 0xFE:
                // Application data and comments may declare any length.
                reader.place = "a segment"
                try reader.skip(max(0, try reader.big(2) - 2))
            case 0x01, 0xD0...0xD7: break
            default:
                throw reader.damaged("has an unexpected marker, 0x\(String(marker, radix: 16))")
            }
        }
    }

    /// Skips fill bytes (0xFF), and returns the second byte of the next marker.
    private static func nextMarker(_ reader: inout ByteReader) throws(ImageError) -> Int {
        while true {
            reader.skip(to: 0xFF)
            guard reader.remaining > 0 else { throw .truncated(.jpeg, "ends before EOI") }
            reader.place = "a marker"
            var marker = 0xFF
            while marker == 0xFF { marker = try reader.big(1) }
            if marker != 0 { return marker }
        }
    }

    private static func nextSegment(
        _ reader: inout ByteReader, _ place: StaticString
    ) throws(ImageError) -> ByteReader {
        reader.place = place
        let length = try reader.big(2)
        guard length >= 2 else { throw reader.damaged("has an invalid length in \(place)") }
        return try reader.part(length - 2, place)
    }

    private static func skipScan(_ reader: inout ByteReader) throws(ImageError) {
        let start = reader.offset
        var nextRestart = 0xD0
        while true {
            reader.skip(to: 0xFF)
            guard reader.remaining >= 2 else { throw .truncated(.jpeg, "ends before EOI") }
            switch Int(reader.bytes[reader.offset + 1]) {
            case 0x00: try reader.skip(2)
            case 0xFF: try reader.skip(1)
            case 0xD0...0xD7:
                guard reader.bytes[reader.offset + 1] == nextRestart else {
                    throw reader.damaged("is missing image data (restart markers out of order)")
                }
                nextRestart = 0xD0 + (nextRestart + 1) % 8
                try reader.skip(2)
            default:
                guard reader.offset > start else { throw reader.damaged("has an empty scan") }
                return
            }
        }
    }
}
