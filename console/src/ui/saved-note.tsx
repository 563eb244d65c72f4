import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Confirms a change, also to screen readers. */
export function SavedNote({ shown, text }: { shown: boolean; text?: string }) {
  const { t } = useTranslation();
  return (
    <Text role="status" size="sm" c="teal">
      {shown && (text ?? t('common.saved'))}
    </Text>
  );
}
