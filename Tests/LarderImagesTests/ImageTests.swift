import LarderImages
import Testing

/// What the suites of the image formats share.
protocol ImageTests {}

extension ImageTests {
    /// Inspects an array.
    func inspect(_ bytes: [UInt8]) throws(ImageError) -> ImageInfo {
        let result = bytes.withUnsafeBytes { bytes -> Result<ImageInfo, ImageError> in
            do throws(ImageError) {
                return .success(try ImageInspector.inspect(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Inspects a text in UTF-8.
    func inspect(_ text: String) throws(ImageError) -> ImageInfo {
        try inspect(Array(text.utf8))
    }

    /// What is wrong with the bytes; nil where they are a whole image.
    func fault(_ bytes: [UInt8]) -> ImageError? {
        do throws(ImageError) {
            _ = try inspect(bytes)
            return nil
        } catch {
            return error
        }
    }

    /// What is wrong with a text in UTF-8.
    func fault(_ text: String) -> ImageError? { fault(Array(text.utf8)) }

    /// Expects that the bytes are found damaged, for a reason that has a word in it.
    func expectDamage(
        _ bytes: [UInt8], _ word: String, at place: SourceLocation = #_sourceLocation
    ) {
        let fault = fault(bytes)
        #expect(fault?.code == .damaged, sourceLocation: place)
        #expect(
            fault?.message.contains(word) == true, "\(fault?.message ?? "whole")",
            sourceLocation: place)
    }
}

/// Numbers as bytes.
enum Bytes {
    /// The most significant first.
    static func big(_ number: Int, _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// The least significant first.
    static func little(_ number: Int, _ width: Int) -> [UInt8] { big(number, width).reversed() }
}
