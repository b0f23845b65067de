import Foundation
import LarderCache
import LarderCore

/// The list of an export's resized images, so that the next export makes only new ones. A wrong
/// line can at most leave an icon in its original size, because files must have the listed digest.
///
/// Lines are appended during an export, so that a killed export loses only the last images.
struct ResizedImages {
    /// A hidden name, which image libraries and Xcode ignore.
    static let file = ".larder-resized"
    /// The maximum size of the list in bytes. A longer list is not read.
    private static let longestList: Int64 = 64 << 20

    private let header: String
    var images: [ResizedImage.Source: ResizedImage] = [:]
    private var appended: FileDescriptor?

    /// Reads the list in the export's directory, unless it was made with a different recipe.
    init(recipe: String, with writer: ExportWriter) throws {
        header = "larder resized images 1, \(recipe)"
        let directory = writer.folder
        if let status = try directory.status(of: Self.file), status.isRegularFile,
            status.st_size <= min(Self.longestList, status.plausibleBytes),
            let file = try? directory.file(Self.file)
        {
            let lines = try file.read(atMost: Int(status.st_size))
                .split(separator: UInt8(ascii: "\n"))
            if lines.first?.elementsEqual(header.utf8) == true {
                lines.dropFirst().forEach { read($0) }
            }
        }
        try write(with: writer, onlyUsed: false)
        // Appends nothing to a file with several hard links, which could be a foreign file.
        if let file = try? directory.open(Self.file, flags: O_WRONLY | O_APPEND | O_NONBLOCK),
            let status = try? file.status(), status.isRegularFile, status.st_nlink == 1
        {
            appended = file
        }
    }

    private mutating func read(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "))
            .map { String(decoding: $0, as: UTF8.self) }
        let numbers = words.dropFirst(2).compactMap { Int($0) }
        guard words.count == 6, numbers.count == 4, let source = Digest(hex: words[0]),
            let digest = Digest(hex: words[1])
        else { return }
        images[.init(digest: source, side: numbers[0])] = ResizedImage(
            digest: digest, size: Int64(numbers[1]), width: numbers[2], height: numbers[3])
    }

    private static func line(_ source: ResizedImage.Source, _ image: ResizedImage) -> String {
        "\(source.digest.hex) \(image.digest.hex) \(source.side) \(image.size) \(image.width) "
            + "\(image.height)\n"
    }

    mutating func add(_ made: [Resizer.Made]) throws {
        for (source, image, _) in made { images[source] = image }
        let lines = made.map { Self.line($0.source, $0.image) }.joined(separator: "")
        try appended?.write(Array(lines.utf8))
    }

    func write(with writer: ExportWriter, onlyUsed: Bool) throws {
        let sorted = images.filter { $0.value.isUsed || !onlyUsed }.sorted {
            ($0.key.digest, $0.key.side) < ($1.key.digest, $1.key.side)
        }
        try writer.write(as: Self.file) { file in
            try file.write(header + "\n")
            for (source, image) in sorted { try file.write(Self.line(source, image)) }
        }
    }
}
