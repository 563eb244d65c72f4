import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import type { SentMenu } from '@gwk/core/protocol/engine';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { InteractiveMode, Rendering } from '@gwk/core/states';

/** The input of a renderer. */
export interface RenderInput {
  content: OutboundContent;
  /** Mode of the instance. */
  mode: InteractiveMode;
  /** Location of the uploaded file; null when there is none. */
  file: UploadedFile | null;
  /** 32 bytes with which replies to this message are decrypted; the same on each attempt. */
  secret: Uint8Array;
}

/** File fields of the network's own messages, for every type of file. */
export interface UploadedFile {
  url: string;
  directPath: string;
  mediaKey: Uint8Array;
  fileSha256: Uint8Array;
  fileEncSha256: Uint8Array;
  fileLength: number;
  mediaKeyTimestamp: number;
}

/** The part of a message that depends on its type. */
export interface RenderedMessage {
  message: proto.IMessage;
  nodes?: BinaryNode[];
  rendered_as?: Rendering;
  menu?: SentMenu;
}

export type Renderer = (input: RenderInput) => RenderedMessage;
