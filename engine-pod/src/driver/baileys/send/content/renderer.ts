import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import type { SentMenu } from '@gwk/core/protocol/engine';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { InteractiveMode, Rendering } from '@gwk/core/states';
import type { UploadedFile } from '../upload.js';

/** The input of a renderer. */
export interface RenderInput {
  content: OutboundContent;
  /** Mode of the instance. */
  mode: InteractiveMode;
  /** Location of the uploaded file; null when there is none. */
  file: UploadedFile | null;
  /** Registered phone numbers of a contact card, by the digits as written. */
  registered: ReadonlyMap<string, string>;
  /** 32 bytes with which replies to this message are decrypted; the same on each attempt. */
  secret: Uint8Array;
}

/** The part of a message that depends on its type. */
export interface RenderedMessage {
  message: proto.IMessage;
  nodes?: BinaryNode[];
  rendered_as?: Rendering;
  menu?: SentMenu;
}

export type Renderer = (input: RenderInput) => RenderedMessage;
