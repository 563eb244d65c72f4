/** A program that sends texts from one phone number of the simulated network. */
export interface Sender {
  name: string;
  /** Phone number that the texts come from. */
  phone: string;
  /** @returns false if the text was refused; the sender of the request would have to send it again */
  send(to: string, text: string): Promise<boolean>;
  /** Processes whose CPU time counts, by part. */
  processes(): Record<string, number | undefined>;
  /** Kills the process that sends (SIGKILL). Resolves when the number is connected again. */
  kill?(): Promise<void>;
}
