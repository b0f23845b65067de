import LarderCache

/// Whether a body is what somebody wants, the bytes that an entry demands and an image, and its way
/// into the store if it is.
struct BodyCheck: Sendable {
    let plan: Plan
    let store: Store
    let acceptsAnyContent: Bool

    /// The digest is not the one that the body came under.
    struct OtherBytes: Error {}

    /// Digests, checks and stages a whole body.
    ///
    /// - Parameters:
    ///   - hasExpectation: whether an entry of that fetch demands particular bytes.
    ///   - mayStore: if not, the body is only checked.
    ///   - name: what the digest must be; default: nil, anything.
    ///   - way: how the body came. Default: from its origin.
    /// - Throws: ``OtherBytes``, `FetchFailure`, `ImageFault`, `CacheError` if the body cannot be
    ///   read or staged.
    func stage(
        _ body: StagedBody, of fetch: Int64, hasExpectation: Bool, mayStore: Bool,
        named name: Digest? = nil, way: FetchResult.Way = .fetched
    ) throws -> (Deposit.Content, FetchResult.Success) {
        let digest = try body.finish()
        if let name, name != digest { throw OtherBytes() }
        if hasExpectation { try check(digest, body.count, of: fetch) }
        let attributes = try attributes(of: body)
        let success = FetchResult.Success(
            digest: digest, size: body.count, attributes: attributes, way: way,
            isStored: mayStore)
        guard mayStore else { return (.unstored, success) }
        return (.staged(try store.stage(body, digest: digest, attributes: attributes)), success)
    }

    /// Refuses bytes that all entries of a fetch refuse.
    private func check(_ digest: Digest, _ size: Int64, of fetch: Int64) throws {
        if let refusal = try plan.refusal(of: digest, size: size, by: fetch) { throw refusal }
    }

    /// What the image says of itself.
    private func attributes(of body: StagedBody) throws -> ObjectAttributes {
        do {
            let image = try body.withBytes { try ImageInspector.inspect($0) }
            return ObjectAttributes(
                mediaType: image.mediaType.rawValue, width: image.width, height: image.height)
        } catch is ImageFault where acceptsAnyContent {
            return ObjectAttributes()
        }
    }
}
