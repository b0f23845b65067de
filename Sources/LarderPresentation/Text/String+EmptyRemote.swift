import LarderKit

extension String {
    /// What is said of the remote at this location if nothing was found: it may be misspelled.
    func textOfEmptyRemote(isPart: Bool) -> String {
        "there is nothing of larder's \(isPart ? "in this part of" : "at") \(sanitizedForTerminal)"
    }
}
