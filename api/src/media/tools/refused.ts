/** The file is not what it has to be. The message is for the consumer: it never quotes the file. */
export class Refused extends Error {
  override name = 'Refused';
}

/** The tool could not be run: a fault of this machine, which says nothing of the file. */
export class NotRun extends Error {
  override name = 'NotRun';
}
