/// A way for an app to get the images of its rows.
package enum StrategyName: String, Sendable, Codable, CaseIterable {
    /// A row's image is downloaded when it appears, on the main thread.
    case synchronous
    /// It is downloaded by a queue, each time that the row appears.
    case asynchronous
    /// The same with all images in a dictionary, which is emptied when memory is short.
    case memory
    /// The same, and no image is downloaded twice at a time.
    case coalescing
    /// Larder's: memory within a limit, the cache directory, and rows ahead.
    case sandbox
}
