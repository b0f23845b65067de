import LarderImages
import Testing

/// The common helpers of the suites of image formats.
protocol ImageTests {}

extension ImageTests {
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

    func inspect(_ text: String) throws(ImageError) -> ImageInfo {
        try inspect(Array(text.utf8))
    }

    /// Returns the error of an inspection, or nil if the bytes are a whole image.
    func fault(_ bytes: [UInt8]) -> ImageError? {
        do throws(ImageError) {
            _ = try inspect(bytes)
            return nil
        } catch {
            return error
        }
    }

    func fault(_ text: String) -> ImageError? { fault(Array(text.utf8)) }

    /// Expects a damaged image, with an error message that contains `word`.
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

/// Conversions of numbers to bytes.
enum Bytes {
    static func big(_ number: Int, _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    static func little(_ number: Int, _ width: Int) -> [UInt8] { big(number, width).reversed() }
}
