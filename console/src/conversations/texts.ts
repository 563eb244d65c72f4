import { loadConversationTexts } from '../i18n/setup';

await loadConversationTexts();
