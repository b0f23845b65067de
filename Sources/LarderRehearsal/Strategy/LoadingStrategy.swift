/// How an app gets the images of its rows. All is called on the main thread.
package protocol LoadingStrategy: AnyObject {
    /// Waits until all that is to be kept is kept, and tells why it is not.
    typealias Epilogue = @Sendable () async -> StrategyReport.StoreFailure?

    /// Bytes of the images that it keeps in memory.
    var cachedBytes: Int { get }

    /// Whether it keeps the image of that URL in memory.
    func caches(_ image: LoadedImage) -> Bool

    /// A row has become visible.
    func load(_ request: RowRequest)

    /// A row is not visible any more.
    func leave(_ request: RowRequest)

    /// These rows may become visible next.
    func prefetch(_ rows: Range<Int>)

    /// Something that it has begun has come to its end.
    func receive(_ arrival: Arrival)

    /// The rehearsal is over: nothing that it has begun goes on.
    ///
    /// - Returns: what is left to do, elsewhere.
    func end() -> Epilogue
}

extension LoadingStrategy {
    package func leave(_ request: RowRequest) {}
    package func prefetch(_ rows: Range<Int>) {}
}
