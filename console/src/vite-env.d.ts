import 'i18next';
import type { ConversationTexts, Texts } from './i18n/texts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation';
    resources: { translation: Texts & ConversationTexts };
    returnNull: false;
  }
}
