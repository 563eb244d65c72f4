import { proto } from '@whiskeysockets/baileys';
import type { OutboundContent } from '@gwk/core/resources/message';

const { MEDIA_ALBUM, HD_IMAGE_DUAL_UPLOAD } = proto.MessageAssociation.AssociationType;

/** Members of ContextInfo.PairedMediaType, whose code would load with an idle engine. */
const [STANDARD, HD] = [3, 4];

/** Says that a picture comes in two versions, and which of them this is. */
export const describePair = ({ image, part_of }: OutboundContent): proto.IContextInfo =>
  image?.hd ? { pairedMediaType: part_of ? HD : STANDARD } : {};

/**
 * Names the message that this one belongs to. An HD picture is wrapped, so that apps without HD do not show it beside its
 * standard version. They show the files of an album one by one.
 */
export function joinWhole(
  message: proto.IMessage,
  { part_of }: Pick<OutboundContent, 'part_of'>,
  remoteJid: string,
): proto.IMessage {
  if (!part_of) return message;
  const isHd = part_of.kind === 'hd';
  const messageAssociation = {
    associationType: isHd ? HD_IMAGE_DUAL_UPLOAD : MEDIA_ALBUM,
    parentMessageKey: { remoteJid, fromMe: true, id: part_of.wa_message_id },
  };
  return {
    ...(isHd ? { associatedChildMessage: { message } } : message),
    messageContextInfo: { messageAssociation },
  };
}
