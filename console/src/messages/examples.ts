import type { components } from '../generated/api';

export type SendBody = components['schemas']['SendMessage'];
export type MessageType = SendBody['type'];

/** Content to start with, by message type. */
export const EXAMPLES: Record<MessageType, object> = {
  text: { body: 'Olá! Seu pedido *1042* saiu para entrega.', preview_url: true },
  image: { media: { url: 'https://example.com/photo.jpg' }, caption: 'Foto' },
  video: { media: { url: 'https://example.com/clip.mp4' }, caption: 'Vídeo' },
  document: { media: { url: 'https://example.com/invoice.pdf', filename: 'fatura.pdf' } },
  audio: { media: { url: 'https://example.com/voice.mp3' }, voice: true },
  sticker: { media: { url: 'https://example.com/sticker.webp' } },
  location: { latitude: -23.5505, longitude: -46.6333, name: 'Loja Centro' },
  contact: { name: 'Suporte', phones: ['+551140028922'], organization: 'Loja' },
  interactive: {
    body: 'Confirma a entrega?',
    buttons: [
      { type: 'reply', id: 'yes', label: 'Sim' },
      { type: 'reply', id: 'no', label: 'Não' },
    ],
  },
  poll: {
    name: 'Qual horário?',
    selectable: 1,
    options: [
      { id: 'am', label: 'Manhã' },
      { id: 'pm', label: 'Tarde' },
    ],
  },
  album: [
    { image: { media: { url: 'https://example.com/front.jpg' }, caption: 'Frente' } },
    { video: { media: { url: 'https://example.com/clip.mp4' } } },
  ],
};
export const MESSAGE_TYPES = Object.keys(EXAMPLES) as MessageType[];
