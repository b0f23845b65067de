import Foundation

/// An image, and whose it is.
package struct LoadedImage: Sendable {
    /// The URL that it was asked for by.
    package let url: URL
    package let data: Data

    package init(url: URL, data: Data) {
        self.url = url
        self.data = data
    }

    /// Where it was when a row wanted it.
    package enum Origin: Sendable { case memory, disk, network }
}
