/** The file is not what it has to be. The message is for the consumer: it never quotes the file. */
export class Refused extends Error {
  override name = 'Refused';
}
