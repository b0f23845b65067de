import LarderCache

/// Whether a body is what somebody wants: the bytes that an entry demands, and an image.
struct BodyCheck: Sendable {
    let acceptsAnyContent: Bool

    /// - Parameter expectations: what each entry demands; a body is refused if all of them refuse
    ///   it.
    /// - Returns: what the image says of itself.
    /// - Throws: `FetchFailure`, `ImageFault`, `CacheError` if the body cannot be read.
    func attributes(
        of body: StagedBody, digest: Digest, expectations: [Expectation]
    ) throws -> ObjectAttributes {
        let refusals = expectations.map { $0.refusal(digest: digest, size: body.count) }
        if let refusal = refusals.first ?? nil, !refusals.contains(where: { $0 == nil }) {
            throw refusal
        }
        do {
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            return ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch is ImageFault where acceptsAnyContent {
            return ObjectAttributes()
        }
    }
}
