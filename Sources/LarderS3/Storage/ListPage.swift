/// A page of a listing.
package struct ListPage: Sendable {
    /// In the order of their names; none need be there though there are more.
    package var objects: [ListedObject]
    /// The name to go on after; nil at the end.
    package var next: String?

    /// A page.
    package init(objects: [ListedObject], next: String?) {
        self.objects = objects
        self.next = next
    }
}
