import type { Network } from '../network.js';
import { sendHistory, type Remembered } from '../history/history.js';
import {
  fileIn,
  fileMessage,
  hdVersion,
  openFileIn,
  type MediaFields,
  type MediaKind,
} from '../media/messages.js';
import { sendContent, type Writing } from './commands-chat.js';
import { listCompanions } from './commands-people.js';

export interface File extends Writing {
  kind: MediaKind;
  base64: string;
  fields?: MediaFields;
  /** Removes the file from the media hosts before the first download. */
  expired?: boolean;
}

export interface Pair extends Writing {
  kind: 'image' | 'video';
  /** Both in base64. */
  standard: string;
  hd: string;
}

export const mediaCommands = {
  /** A person sends a file. */
  writeFile: ({ world }: Network, { kind, base64, fields, expired, ...writing }: File) => {
    const file = { bytes: Buffer.from(base64, 'base64'), ...(fields && { fields }) };
    const message = fileMessage(world, kind, file);
    const path = fileIn(message)?.reference.directPath;
    if (expired && path !== undefined) world.media?.expire(path);
    return sendContent(world, writing, message);
  },

  /** Writes a picture or film in its standard version, then in HD, as apps do. */
  writePair: async ({ world }: Network, { kind, standard, hd, ...writing }: Pair) => {
    const files = [standard, hd].map((base64) =>
      fileMessage(world, kind, { bytes: Buffer.from(base64, 'base64') }),
    );
    const { id } = await sendContent(world, writing, files[0]!);
    const { id: hdId } = await sendContent(world, writing, hdVersion(kind, files[1]!, id));
    return { id, hdId };
  },

  /**
   * A person opens the file of a received message.
   * @returns its bytes, checked as apps check them
   */
  openFile: ({ world }: Network, { number, id }: { number: string; id: string }) => {
    const entry = world.inbox
      .find((one) => one.to === number && one.id === id && one.message !== undefined)
      .at(-1);
    return { base64: openFileIn(world, entry?.message).toString('base64') };
  },

  /** Status codes of the next uploads and downloads. A download with 0 breaks off halfway. */
  failMedia: ({ world }: Network, { upload, download }: { upload?: number[]; download?: number[] }) => {
    world.media?.failures.upload.push(...(upload ?? []));
    world.media?.failures.download.push(...(download ?? []));
    return {};
  },

  /** Sets the chat history of a phone. Devices linked from now on receive it. */
  remember: ({ world }: Network, { number, messages }: { number: string; messages: Remembered[] }) => {
    world.people.need(number).remembers.push(...messages);
    return {};
  },

  /** The phone sends its history again to the linked devices, in the message or as a file. */
  sendHistory: async (network: Network, { number, inFile }: { number: string; inFile?: boolean }) => {
    for (const companion of listCompanions(network, number))
      await sendHistory(network.world, companion, inFile);
    return {};
  },
};
