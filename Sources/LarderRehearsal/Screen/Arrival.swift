/// What came of a request, on its way to the main thread.
package struct Arrival: Sendable {
    package let request: RowRequest
    /// Nil if there is no image to be had.
    package let image: LoadedImage?
    package let origin: LoadedImage.Origin

    package init(_ request: RowRequest, _ image: LoadedImage?, from origin: LoadedImage.Origin) {
        self.request = request
        self.image = image
        self.origin = origin
    }
}
