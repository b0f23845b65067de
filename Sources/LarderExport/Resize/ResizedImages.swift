import Foundation
import LarderCache
import LarderCore

struct ResizedImage {
    struct Source: Hashable {
        let digest: Digest
        /// The length of the longest side.
        let pixels: Int
    }

    let digest: Digest
    let size: Int64
    let width: Int
    let height: Int
    /// Whether the current export has a file with the image.
    var isUsed = false
}

/// The list of an export's resized images, so that the next export makes only new ones. A wrong
/// line does no harm, because a file is used only if its bytes have the listed digest.
struct ResizedImages {
    /// A hidden name, which image libraries and Xcode ignore.
    static let file = ".larder-resized"
    /// In bytes. A longer list is not read.
    private static let longestList: Int64 = 64 << 20

    private let header: [UInt8]
    private var images: [ResizedImage.Source: ResizedImage] = [:]

    subscript(source: ResizedImage.Source) -> ResizedImage? {
        get { images[source] }
        set { images[source] = newValue }
    }

    /// Reads the list of a directory, unless its program and version were others.
    init(recipe: String, in directory: FileDescriptor) throws {
        header = Array("larder resized images 1, \(recipe)".utf8)
        guard let status = try directory.status(of: Self.file), status.isRegularFile,
            status.st_size <= min(Self.longestList, status.plausibleBytes),
            let file = try? directory.file(Self.file)
        else { return }
        let lines = try file.read(atMost: Int(status.st_size)).split(separator: UInt8(ascii: "\n"))
        guard lines.first?.elementsEqual(header) == true else { return }
        lines.dropFirst().forEach { read($0) }
    }

    private mutating func read(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "))
            .map { String(decoding: $0, as: UTF8.self) }
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        guard words.count == 6, numbers.count == 4, let source = Digest(hex: words[0]),
            let digest = Digest(hex: words[1])
        else { return }
        images[.init(digest: source, pixels: numbers[0])] = ResizedImage(
            digest: digest, size: Int64(numbers[1]), width: numbers[2], height: numbers[3])
    }

    /// Writes the list, sorted.
    func write(with writer: ExportWriter, onlyUsed: Bool) throws {
        let sorted = images.filter { $0.value.isUsed || !onlyUsed }.sorted {
            ($0.key.digest, $0.key.pixels) < ($1.key.digest, $1.key.pixels)
        }
        try writer.write(as: Self.file) { file in
            try file.write(header + [UInt8(ascii: "\n")])
            for (source, image) in sorted {
                let numbers = [source.pixels, Int(image.size), image.width, image.height]
                try file.write(
                    "\(source.digest.hex) \(image.digest.hex) "
                        + "\(numbers.map(String.init).joined(separator: " "))\n")
            }
        }
    }
}
