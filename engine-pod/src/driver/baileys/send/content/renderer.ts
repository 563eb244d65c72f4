import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import type { SentMenu } from '@gwk/core/menus/sent-menu';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { InteractiveMode, Rendering } from '@gwk/core/states';

/** What a message is drawn from, beside its content. */
export interface RenderInput {
  content: OutboundContent;
  /** Of the instance. */
  mode: InteractiveMode;
  /** Where its file was put on the network; null where it has none. */
  file: UploadedFile | null;
  /** 32 bytes by which answers to this message are read, the same each time. */
  secret: Uint8Array;
}

/** What the network's own file message says of a file, whatever its type. */
export interface UploadedFile {
  url: string;
  directPath: string;
  mediaKey: Uint8Array;
  fileSha256: Uint8Array;
  fileEncSha256: Uint8Array;
  fileLength: number;
  mediaKeyTimestamp: number;
}

/** What a type adds to what all messages have. */
export interface RenderedMessage {
  message: proto.IMessage;
  nodes?: BinaryNode[];
  rendered_as?: Rendering;
  menu?: SentMenu;
}

export type Renderer = (drawing: RenderInput) => RenderedMessage;
