import { Button, FileButton, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconUpload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import { ProblemAlert } from '../ui/problem-alert';

/** The JSON of a message's content. */
export type Content = Record<string, unknown>;

interface FileFieldProps {
  value: Content;
  set: (value: Content) => void;
}

/** The file of a message: an upload, or an address from which the gateway fetches it. */
export function FileField({ value, set }: FileFieldProps) {
  const { t } = useTranslation();
  const { gwk, can } = useAccount();
  const upload = useMutation({
    mutationFn: (file: File) => gwk.media.upload({ file }),
    onSuccess: ({ id, filename }) => set({ media_id: id, ...(filename !== null && { filename }) }),
  });
  const url = typeof value['url'] === 'string' ? value['url'] : '';
  const hasUpload = typeof value['media_id'] === 'string';
  return (
    <Stack gap="xs">
      <TextInput
        label={t('send.fields.url')}
        type="url"
        required={!hasUpload}
        value={url}
        onChange={(event) => set({ url: event.currentTarget.value })}
      />
      {can('media:write') && (
        <Group gap="sm">
          <FileButton onChange={(file) => file && upload.mutate(file)}>
            {(props) => (
              <Button
                {...props}
                variant="default"
                leftSection={<IconUpload size={16} />}
                loading={upload.isPending}
              >
                {t('send.upload')}
              </Button>
            )}
          </FileButton>
          <Text size="sm" role="status" className="wrap">
            {hasUpload && t('send.uploaded', { name: upload.data?.filename ?? value['media_id'] })}
          </Text>
        </Group>
      )}
      <ProblemAlert error={upload.error} />
    </Stack>
  );
}
