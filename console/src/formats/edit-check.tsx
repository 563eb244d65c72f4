import { Button, Group, Modal, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import type { components } from '../generated/api';
import { platformApi } from '../platform/client';
import { ProblemAlert } from '../ui/problem-alert';

type Check = components['schemas']['DeviceCheckIn'];
const STATUSES = ['works', 'partial', 'broken', 'unknown'] as const satisfies readonly Check['status'][];

interface EditCheckProps extends Pick<Check, 'format' | 'device'> {
  /** The check that the new one replaces. */
  check: { status: Check['status']; note: string | null; app_version: string | null } | null;
}

/** A button for the form in which an administrator of the platform records a check. */
export function EditCheck(props: EditCheckProps) {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure();
  const device = t(`formats.devices.${props.device}`);
  const title = t('formats.editOf', { format: props.format, device });
  return (
    <>
      <Button variant="default" size="compact-xs" onClick={open} aria-label={title}>
        {t('formats.edit')}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={title}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        <CheckForm {...props} close={close} />
      </Modal>
    </>
  );
}

function CheckForm({ format, device, check, close }: EditCheckProps & { close: () => void }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [status, setStatus] = useState<Check['status']>(check?.status ?? 'works');
  const [version, setVersion] = useState(check?.app_version ?? '');
  const [note, setNote] = useState(check?.note ?? '');
  const record = useMutation({
    mutationFn: () => {
      const body = { format, device, status, app_version: version.trim() || null, note: note.trim() || null };
      return takeData(platformApi.POST('/console/api/platform/device-checks', { body }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['formats'] });
      close();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    record.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Select
          label={t('formats.status')}
          data={STATUSES.map((value) => ({ value, label: t(`formats.states.${value}`) }))}
          value={status}
          onChange={(value) => setStatus(value ?? status)}
          allowDeselect={false}
        />
        <TextInput
          label={t('formats.appVersion')}
          maxLength={40}
          value={version}
          onChange={(event) => setVersion(event.currentTarget.value)}
        />
        <Textarea
          label={t('formats.note')}
          description={t('formats.noteHelp')}
          maxLength={500}
          autosize
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <ProblemAlert error={record.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={record.isPending}>
            {t('common.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
