/// Why some bytes are not a whole image.
package struct ImageFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of fault.
    package enum Code: String, Sendable, CaseIterable {
        /// There are no bytes at all.
        case empty
        /// The content is not an image, or not of a format in `MediaType`.
        case notAnImage = "not-an-image"
        /// The image starts well and ends too early.
        case truncated
        /// The image contradicts itself or its format's rules.
        case damaged
    }

    /// The kind of fault.
    package let code: Code
    /// The format that the content claims to be; nil if it claims none.
    package let mediaType: MediaType?
    /// What is wrong, for people; whatever it quotes of the content is printable.
    package let message: String

    /// The message.
    package var description: String { message }

    static func notAnImage(_ content: String) -> ImageFault {
        ImageFault(code: .notAnImage, mediaType: nil, message: "\(content), not an image")
    }

    static func truncated(_ type: MediaType, _ message: String) -> ImageFault {
        ImageFault(code: .truncated, mediaType: type, message: "\(type.name) \(message)")
    }

    static func damaged(_ type: MediaType, _ message: String) -> ImageFault {
        ImageFault(code: .damaged, mediaType: type, message: "\(type.name) \(message)")
    }
}
