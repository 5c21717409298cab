/* A pretended NVIDIA driver: the functions of libnvidia-ml.so.1 that the agent calls, with answers read from a file.
 *
 * FAKE_NVML names the file, which is read again when it has changed, so a test changes the machine by writing it. Each line is
 * a key and its value, "gpu.0.name NVIDIA H100 80GB HBM3". A key that is missing is an answer too: the device does not
 * support that (3). A value of "!15" makes the call fail with that code, "gpu.0.error 15" each call for this GPU.
 * "init.error 9" is a driver that is not loaded, "module 2" one of another version than this library. "delay.nvmlDeviceGetUtilizationRates 5000": this call takes so many ms.
 *
 * Structures and codes are those of nvml.h (https://docs.nvidia.com/deploy/nvml-api/). Built with -DOLD_DRIVER it lacks what
 * came after driver 418: no _v2 and _v3 of several functions, no MIG, no row remapping.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10, MISMATCH = 18, WRONG_VERSION = 25 };
enum { MAX_GPUS = 16, MAX_MIGS = 8, MAX_LINES = 2000 };

#ifndef VERSION
#define VERSION 1 /* of the library; the kernel module has to be the same */
#endif

typedef struct { int gpu, mig; } Device; /* mig is -1 for the GPU itself */
typedef struct { char key[96], value[160]; } Line;

static Line lines[MAX_LINES];
static int line_count, started;
static struct stat seen;
static Device devices[MAX_GPUS][MAX_MIGS + 1];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void read_file(void) {
    const char *name = getenv("FAKE_NVML");
    struct stat now;
    if (!name || stat(name, &now)) { line_count = 0; return; }
    if (now.st_ino == seen.st_ino && now.st_size == seen.st_size && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec
        && now.st_mtim.tv_sec == seen.st_mtim.tv_sec) return;
    FILE *file = fopen(name, "r");
    if (!file) return;
    char text[320];
    line_count = 0;
    while (line_count < MAX_LINES && fgets(text, sizeof text, file)) {
        Line *line = &lines[line_count];
        if (sscanf(text, "%95s %159[^\n]", line->key, line->value) == 2) line_count++;
    }
    fclose(file);
    seen = now;
}

static int find(char *value, const char *format, ...) {
    char key[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    read_file();
    int found = 0;
    for (int i = 0; i < line_count && !found; i++)
        if (!strcmp(lines[i].key, key)) { strcpy(value, lines[i].value); found = 1; }
    pthread_mutex_unlock(&lock);
    return found;
}

static void pause_ms(long ms) {
    struct timespec rest = { ms / 1000, ms % 1000 * 1000000L };
    nanosleep(&rest, NULL);
}

static int is_mismatched(void) {
    char value[160];
    return find(value, "module") && atoi(value) != VERSION;
}

/* OK, or why this call fails before it begins. */
static int enter(const char *function, const Device *device) {
    char value[160];
    if (find(value, "delay.%s", function)) pause_ms(atol(value));
    if (!started) return UNINITIALIZED;
    if (is_mismatched()) return MISMATCH;
    if (find(value, "fail.%s", function)) return atoi(value);
    if (device && find(value, "gpu.%d.error", device->gpu)) return atoi(value);
    return OK;
}

static int text_of(char *value, const Device *device, const char *name) {
    int found = device->mig < 0 ? find(value, "gpu.%d.%s", device->gpu, name)
                                : find(value, "gpu.%d.mig.%d.%s", device->gpu, device->mig, name);
    if (!found) return NOT_SUPPORTED;
    return value[0] == '!' ? atoi(value + 1) : OK;
}

static int number_of(unsigned long long *number, const Device *device, const char *name) {
    char value[160];
    int code = text_of(value, device, name);
    if (code == OK) *number = strtoull(value, NULL, 0);
    return code;
}

static int copy(char *to, unsigned size, const char *value) {
    if (strlen(value) + 1 > size) return TOO_SMALL;
    strcpy(to, value);
    return OK;
}

#define ENTER(device) do { int code_ = enter(__func__, device); if (code_) return code_; } while (0)
#define TEXT(function, name) \
    int function(Device *device, char *to, unsigned size) { \
        ENTER(device); \
        char value[160]; \
        int code = text_of(value, device, name); \
        return code ? code : copy(to, size, value); \
    }
#define NUMBER(function, name, type) \
    int function(Device *device, type *to) { \
        ENTER(device); \
        unsigned long long value = 0; \
        int code = number_of(&value, device, name); \
        if (code == OK) *to = (type) value; \
        return code; \
    }
#define KIND_OF_NUMBER(function, name, type) \
    int function(Device *device, unsigned kind, type *to) { \
        (void) kind; \
        ENTER(device); \
        unsigned long long value = 0; \
        int code = number_of(&value, device, name); \
        if (code == OK) *to = (type) value; \
        return code; \
    }

/* ---- the library and the system ---- */

int nvmlInitWithFlags(unsigned flags) {
    (void) flags;
    char value[160];
    if (find(value, "delay.%s", __func__)) pause_ms(atol(value));
    if (find(value, "init.error")) return atoi(value);
    if (is_mismatched()) return MISMATCH;
    started++;
    return OK;
}

int nvmlShutdown(void) {
    if (!started) return UNINITIALIZED;
    started--;
    return OK;
}

const char *nvmlErrorString(int code) {
    switch (code) {
        case 9: return "Driver Not Loaded";
        case 15: return "GPU is lost";
        case 18: return "Driver/library version mismatch";
        default: return "Some Error";
    }
}

int nvmlSystemGetDriverVersion(char *to, unsigned size) {
    char value[160];
    ENTER(NULL);
    return find(value, "driver") ? copy(to, size, value) : NOT_SUPPORTED;
}

int nvmlSystemGetCudaDriverVersion(int *to) {
    char value[160];
    ENTER(NULL);
    if (!find(value, "cuda")) return NOT_SUPPORTED;
    *to = atoi(value);
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *to) {
    char value[160];
    ENTER(NULL);
    for (*to = 0; *to < MAX_GPUS && find(value, "gpu.%u.uuid", *to); ++*to) continue;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **to) {
    char value[160];
    ENTER(NULL);
    if (index >= MAX_GPUS || !find(value, "gpu.%u.uuid", index)) return INVALID;
    if (find(value, "gpu.%u.handle", index)) return atoi(value);
    devices[index][0] = (Device) { (int) index, -1 };
    *to = &devices[index][0];
    return OK;
}

/* ---- what a GPU is ---- */

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
NUMBER(nvmlDeviceGetMinorNumber, "minor", unsigned)
NUMBER(nvmlDeviceGetPersistenceMode, "persistence", unsigned)
NUMBER(nvmlDeviceGetComputeMode, "compute_mode", unsigned)

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;

int nvmlDeviceGetPciInfo_v3(Device *device, Pci *to) {
    ENTER(device);
    char value[160];
    int code = text_of(value, device, "pci");
    memset(to, 0, sizeof *to);
    return code ? code : copy(to->bus_id, sizeof to->bus_id, value);
}

int nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor) {
    ENTER(device);
    char value[160];
    int code = text_of(value, device, "capability");
    if (code == OK) sscanf(value, "%d.%d", major, minor);
    return code;
}

int nvmlDeviceGetP2PStatus(Device *one, Device *other, unsigned kind, unsigned *to) {
    ENTER(one);
    char value[160];
    if (kind != 2) return INVALID; /* only NVLink is asked for */
    if (!find(value, "nvlink.%d.%d", one->gpu, other->gpu)) return NOT_SUPPORTED;
    *to = (unsigned) atoi(value);
    return OK;
}

/* ---- what it does now ---- */

typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned long long total, free, used; } Memory;

int nvmlDeviceGetUtilizationRates(Device *device, Utilization *to) {
    ENTER(device);
    unsigned long long value = 0;
    int code = number_of(&value, device, "utilization");
    if (code == OK) *to = (Utilization) { (unsigned) value, 0 };
    return code;
}

int nvmlDeviceGetMemoryInfo(Device *device, Memory *to) {
    ENTER(device);
    unsigned long long reserved = 0;
    int code = number_of(&to->total, device, "memory.total");
    if (code == OK) code = number_of(&to->used, device, "memory.used");
    number_of(&reserved, device, "memory.reserved");
    to->used += reserved; /* the first form counts what the driver keeps as used */
    to->free = to->total - to->used;
    return code;
}

NUMBER(nvmlDeviceGetPowerUsage, "power", unsigned)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, "energy", unsigned long long)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle", unsigned long long)
KIND_OF_NUMBER(nvmlDeviceGetTemperature, "temperature", unsigned)
KIND_OF_NUMBER(nvmlDeviceGetClockInfo, "clock", unsigned)

typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } Process;

int nvmlDeviceGetComputeRunningProcesses_v2(Device *device, unsigned *count, Process *to) {
    ENTER(device);
    char value[160];
    unsigned there = 0;
    while (find(value, "gpu.%d.process.%u", device->gpu, there)) there++;
    unsigned room = *count;
    *count = there;
    if (there > room) return TOO_SMALL;
    for (unsigned i = 0; i < there; i++) {
        Process process = { 0, 0, 0xFFFFFFFFu, 0xFFFFFFFFu };
        find(value, "gpu.%d.process.%u", device->gpu, i);
        sscanf(value, "%u %llu %u %u", &process.pid, &process.memory, &process.gpu_instance, &process.compute_instance);
        to[i] = process;
    }
    return OK;
}

/* ---- its health ---- */

int nvmlDeviceGetTotalEccErrors(Device *device, unsigned kind, unsigned counter, unsigned long long *to) {
    ENTER(device);
    if (kind > 1 || counter > 1) return INVALID;
    return number_of(to, device, kind ? (counter ? "ecc.double.ever" : "ecc.double") : "ecc.single");
}

NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retirement_pending", unsigned)
NUMBER(nvmlDeviceGetSupportedEventTypes, "events", unsigned long long)

typedef struct { int delivered; int gpus; } EventSet;
typedef struct { Device *device; unsigned long long type, data; unsigned gpu_instance, compute_instance; } Event;

static int event_count(void) {
    char value[160];
    int count = 0;
    while (find(value, "event.%d", count)) count++;
    return count;
}

int nvmlEventSetCreate(EventSet **to) {
    ENTER(NULL);
    *to = calloc(1, sizeof **to);
    (*to)->delivered = event_count(); /* what happened before is lost */
    return OK;
}

int nvmlDeviceRegisterEvents(Device *device, unsigned long long types, EventSet *set) {
    ENTER(device);
    unsigned long long supported = 0;
    int code = number_of(&supported, device, "events");
    if (code) return code;
    if (types & ~supported) return NOT_SUPPORTED;
    set->gpus |= 1 << device->gpu;
    return OK;
}

int nvmlEventSetFree(EventSet *set) {
    free(set);
    return OK;
}

#ifndef OLD_DRIVER

int nvmlEventSetWait_v2(EventSet *set, Event *to, unsigned timeout_ms) {
    char value[160];
    ENTER(NULL);
    for (long waited = 0;; waited += 5) {
        while (find(value, "event.%d", set->delivered)) {
            int gpu = 0;
            *to = (Event) { NULL, 0, 0, 0xFFFFFFFFu, 0xFFFFFFFFu };
            sscanf(value, "%d %llu %llu %u %u", &gpu, &to->type, &to->data, &to->gpu_instance, &to->compute_instance);
            set->delivered++;
            if (!(set->gpus & 1 << gpu)) continue;
            devices[gpu][0] = (Device) { gpu, -1 };
            to->device = &devices[gpu][0];
            return OK;
        }
        if (find(value, "wait.error")) return atoi(value);
        if (waited >= (long) timeout_ms) return TIMEOUT;
        pause_ms(5);
    }
}

int nvmlSystemGetCudaDriverVersion_v2(int *to) { return nvmlSystemGetCudaDriverVersion(to); }
NUMBER(nvmlDeviceGetArchitecture, "architecture", unsigned)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "throttle", unsigned long long)

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } Memory2;

int nvmlDeviceGetMemoryInfo_v2(Device *device, Memory2 *to) {
    ENTER(device);
    if (to->version != (sizeof *to | 2u << 24)) return WRONG_VERSION;
    int code = number_of(&to->total, device, "memory.total");
    if (code == OK) code = number_of(&to->used, device, "memory.used");
    to->reserved = 0;
    number_of(&to->reserved, device, "memory.reserved");
    to->free = to->total - to->used - to->reserved;
    return code;
}

typedef struct { unsigned version, sensor; int temperature; } Temperature;

int nvmlDeviceGetTemperatureV(Device *device, Temperature *to) {
    ENTER(device);
    if (to->version != (sizeof *to | 1u << 24)) return WRONG_VERSION;
    unsigned long long value = 0;
    int code = number_of(&value, device, "temperature");
    if (code == OK) to->temperature = (int) value;
    return code;
}

int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *count, Process *to) {
    ENTER(device);
    return nvmlDeviceGetComputeRunningProcesses_v2(device, count, to);
}

int nvmlDeviceGetRemappedRows(Device *device, unsigned *good, unsigned *bad, unsigned *pending, unsigned *failed) {
    ENTER(device);
    char value[160];
    int code = text_of(value, device, "remapped");
    if (code == OK) sscanf(value, "%u %u %u %u", good, bad, pending, failed);
    return code;
}

/* ---- MIG ---- */

int nvmlDeviceGetMigMode(Device *device, unsigned *current, unsigned *pending) {
    ENTER(device);
    unsigned long long value = 0;
    int code = number_of(&value, device, "mig_mode");
    if (code == OK) *current = *pending = (unsigned) value;
    return code;
}

int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *to) {
    ENTER(device);
    *to = MAX_MIGS;
    return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned index, Device **to) {
    ENTER(device);
    char value[160];
    if (index >= MAX_MIGS) return INVALID;
    if (!find(value, "gpu.%d.mig.%u.uuid", device->gpu, index)) return NOT_FOUND;
    devices[device->gpu][index + 1] = (Device) { device->gpu, (int) index };
    *to = &devices[device->gpu][index + 1];
    return OK;
}

NUMBER(nvmlDeviceGetGpuInstanceId, "gi", unsigned)
NUMBER(nvmlDeviceGetComputeInstanceId, "ci", unsigned)

typedef struct { unsigned processors, copy, decoder, encoder, jpeg, ofa, gpu_slices, compute_slices; unsigned long long memory_mb; } Attributes;

int nvmlDeviceGetAttributes_v2(Device *device, Attributes *to) {
    ENTER(device);
    unsigned long long slices = 0, compute = 0;
    memset(to, 0, sizeof *to);
    int code = number_of(&slices, device, "slices");
    if (code == OK) code = number_of(&to->memory_mb, device, "memory_mb");
    if (code == OK && number_of(&compute, device, "compute_slices")) compute = slices;
    to->gpu_slices = (unsigned) slices;
    to->compute_slices = (unsigned) compute;
    return code;
}

#endif
